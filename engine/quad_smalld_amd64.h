// Shared by quadSmallDAVX2 and quadSmallDAVX512, the quadratic forms for small d: the walk from tile to
// tile, first down the rows of a component and then on to the next component, while the next tile is
// being prepared ("below"; the tile before is "above"). Their frames of 456 bytes hold a copy of the
// arguments, in the lowest 248 bytes, and these slots (offsets from SP), beside those of each kernel:
//
//	ps-8           bytes from one component's P to the next, 0 if they share one
//	ns-16          the same for next, 0 if nothing is prefetched
//	gHere-24, qHere-32, rowsHere-160, pHere-168    G, q, rows and P of the current tile
//	tilesLeft-48, tallLeft-56                      tiles left, and those with one row more
//	gBelow-120, qBelow-136, xBelow-152, rowsBelow-104, nextBelow-96   the same of the tile below
//
// comps, g, q, mu, p and next are advanced in place from component to component.
//
// At the end is what vjpSmallDAVX2 and vjpSmallDAVX512 share.

// The arguments, a quadSmallDArgs.
#define QUAD_ARG_COMPS   comps-456+quadSmallDArgs_comps(SP)
#define QUAD_ARG_G       g_base-456+quadSmallDArgs_g(SP)
#define QUAD_ARG_GC      gc-456+quadSmallDArgs_gc(SP)
#define QUAD_ARG_GS      gs-456+quadSmallDArgs_gs(SP)
#define QUAD_ARG_Q       q_base-456+quadSmallDArgs_q(SP)
#define QUAD_ARG_QC      qc-456+quadSmallDArgs_qc(SP)
#define QUAD_ARG_X       x_base-456+quadSmallDArgs_x(SP)
#define QUAD_ARG_XS      xs-456+quadSmallDArgs_xs(SP)
#define QUAD_ARG_MU      mu_base-456+quadSmallDArgs_mu(SP)
#define QUAD_ARG_D       d-456+quadSmallDArgs_d(SP)
#define QUAD_ARG_P       p_base-456+quadSmallDArgs_p(SP)
#define QUAD_ARG_PLEN    p_len-456+quadSmallDArgs_p+8(SP)
#define QUAD_ARG_WORK    work_base-456+quadSmallDArgs_work(SP)
#define QUAD_ARG_TILES   tiles-456+quadSmallDArgs_tiles(SP)
#define QUAD_ARG_ROWS    rows-456+quadSmallDArgs_rows(SP)
#define QUAD_ARG_TALL    tall-456+quadSmallDArgs_tall(SP)
#define QUAD_ARG_NEXT    next_base-456+quadSmallDArgs_next(SP)
#define QUAD_ARG_STEP    step-456+quadSmallDArgs_step(SP)

// QUAD_COPYARGUMENTS copies the arguments at CX into the frame, QUAD_COPY 32 bytes of them. Changes Y0.
#define QUAD_COPYARGUMENTS \
	QUAD_COPY(0); QUAD_COPY(32); QUAD_COPY(64); QUAD_COPY(96) \
	QUAD_COPY(128); QUAD_COPY(160); QUAD_COPY(192); QUAD_COPY(216)

#define QUAD_COPY(off) VMOVUPS off(CX), Y0; VMOVUPS Y0, args-456+off(SP)

// QUAD_ARGUMENTS turns the strides into bytes and sets ps, ns and R15, the address that is
// prefetched. The labels stand for nothing else. Changes CX.
#define QUAD_ARGUMENTS(many, fetches) \
	SHLQ $2, QUAD_ARG_GC     \
	SHLQ $2, QUAD_ARG_GS     \
	SHLQ $2, QUAD_ARG_QC     \
	SHLQ $2, QUAD_ARG_XS    \
	SHLQ $2, QUAD_ARG_D     \
	MOVL $Packed__size, CX \
	CMPQ QUAD_ARG_PLEN, $1 \
	JNE  many              \ // one P for all components
	XORL CX, CX            \
many: \
	MOVQ CX, ps-8(SP)      \
	MOVQ QUAD_ARG_GC, CX     \
	CMPQ QUAD_ARG_STEP, $0  \
	JNE  fetches           \ // step is 0: prefetch nothing
	XORL CX, CX            \
fetches: \
	MOVQ CX, ns-16(SP)     \
	MOVQ QUAD_ARG_NEXT, R15

// QUAD_NEXTCOMPONENT advances the arguments to the next component. Changes CX.
#define QUAD_NEXTCOMPONENT \
	MOVQ QUAD_ARG_GC, CX       \
	ADDQ CX, QUAD_ARG_G    \
	MOVQ QUAD_ARG_QC, CX       \
	ADDQ CX, QUAD_ARG_Q   \
	MOVQ QUAD_ARG_D, CX       \
	ADDQ CX, QUAD_ARG_MU \
	MOVQ ps-8(SP), CX        \
	ADDQ CX, QUAD_ARG_P  \
	MOVQ ns-16(SP), CX       \
	ADDQ CX, QUAD_ARG_NEXT

// QUAD_FIRSTTILE makes the first tile the tile below. Changes CX and DI.
#define QUAD_FIRSTTILE(even) \
	MOVQ $0, nextBelow-96(SP)  \
	MOVQ QUAD_ARG_TILES, CX     \
	SUBQ $1, CX                \
	MOVQ CX, tilesLeft-48(SP)  \
	MOVQ QUAD_ARG_TALL, CX \
	MOVQ CX, tallLeft-56(SP)   \
	GEMM_TILEROWS(QUAD_ARG_ROWS, tallLeft-56(SP), CX, even)    \
	MOVQ CX, rowsBelow-104(SP) \
	MOVQ QUAD_ARG_G, DI      \
	MOVQ DI, gBelow-120(SP)    \
	MOVQ QUAD_ARG_Q, DI     \
	MOVQ DI, qBelow-136(SP)    \
	MOVQ QUAD_ARG_X, DI     \
	MOVQ DI, xBelow-152(SP)

// QUAD_NEXTTILE makes the tile below the current one and finds the tile below that. After the last
// tile comps is 0 and the tile below stays the same. Changes CX, DX, DI, R8 and R13, and R15 when
// the component changes.
#define QUAD_NEXTTILE(same, component, placed, even, known) \
	MOVQ rowsBelow-104(SP), R13 \
	MOVQ R13, rowsHere-160(SP)  \
	MOVQ gBelow-120(SP), DI     \
	MOVQ DI, gHere-24(SP)       \
	MOVQ qBelow-136(SP), DX     \
	MOVQ DX, qHere-32(SP)       \
	MOVQ QUAD_ARG_P, R8     \
	MOVQ Packed_data(R8), R8    \
	MOVQ R8, pHere-168(SP)      \
	MOVQ nextBelow-96(SP), CX   \
	TESTQ CX, CX                \
	JEQ  same                   \
	MOVQ CX, R15                \
	MOVQ $0, nextBelow-96(SP)   \
same: \
	MOVQ xBelow-152(SP), R8     \
	SUBQ $1, tilesLeft-48(SP)   \
	JLT  component              \ // last tile of this component
	LEAQ (DX)(R13*4), DX        \
	MOVQ R13, CX                \
	IMULQ QUAD_ARG_GS, CX         \
	ADDQ CX, DI                 \ // G, rows further down
	IMULQ QUAD_ARG_XS, R13       \
	ADDQ R13, R8                \ // x, likewise
	JMP  placed                 \
component: \
	SUBQ $1, QUAD_ARG_COMPS        \
	JEQ  known                  \
	QUAD_NEXTCOMPONENT          \
	MOVQ QUAD_ARG_NEXT, CX  \
	MOVQ CX, nextBelow-96(SP)   \
	MOVQ QUAD_ARG_G, DI       \
	MOVQ QUAD_ARG_Q, DX      \
	MOVQ QUAD_ARG_X, R8      \
	MOVQ QUAD_ARG_TILES, CX      \
	SUBQ $1, CX                 \
	MOVQ CX, tilesLeft-48(SP)   \
	MOVQ QUAD_ARG_TALL, CX  \
	MOVQ CX, tallLeft-56(SP)    \
placed: \
	MOVQ DI, gBelow-120(SP)     \
	MOVQ DX, qBelow-136(SP)     \
	MOVQ R8, xBelow-152(SP)     \
	GEMM_TILEROWS(QUAD_ARG_ROWS, tallLeft-56(SP), CX, even)     \
	MOVQ CX, rowsBelow-104(SP)  \
known:

// The arguments of vjpSmallDAVX2 and vjpSmallDAVX512, a vjpSmallDArgs, are their frame of 280 bytes.
#define VJP_ARG_V        v_base-280+vjpSmallDArgs_v(SP)
#define VJP_ARG_VS       vs-280+vjpSmallDArgs_vs(SP)
#define VJP_ARG_R        r_base-280+vjpSmallDArgs_r(SP)
#define VJP_ARG_U        u_base-280+vjpSmallDArgs_u(SP)
#define VJP_ARG_US       us-280+vjpSmallDArgs_us(SP)
#define VJP_ARG_T        t_base-280+vjpSmallDArgs_t(SP)
#define VJP_ARG_X        x_base-280+vjpSmallDArgs_x(SP)
#define VJP_ARG_XS       xs-280+vjpSmallDArgs_xs(SP)
#define VJP_ARG_MU       mu_base-280+vjpSmallDArgs_mu(SP)
#define VJP_ARG_MULEN    mu_len-280+vjpSmallDArgs_mu+8(SP)
#define VJP_ARG_P        p_base-280+vjpSmallDArgs_p(SP)
#define VJP_ARG_WORK     work_base-280+vjpSmallDArgs_work(SP)
#define VJP_ARG_TILES    tiles-280+vjpSmallDArgs_tiles(SP)
#define VJP_ARG_ROWS     rows-280+vjpSmallDArgs_rows(SP)
#define VJP_ARG_TALL     tall-280+vjpSmallDArgs_tall(SP)
#define VJP_ARG_ACC      acc-280+vjpSmallDArgs_acc(SP)
#define VJP_ARG_NEXT     next_base-280+vjpSmallDArgs_next(SP)
#define VJP_ARG_STEP     step-280+vjpSmallDArgs_step(SP)

// VJP_COPYARGUMENTS copies the arguments at CX into the frame, VJP_COPY 32 bytes of them. Changes Y0.
#define VJP_COPYARGUMENTS \
	VJP_COPY(0); VJP_COPY(32); VJP_COPY(64); VJP_COPY(96); VJP_COPY(128) \
	VJP_COPY(160); VJP_COPY(192); VJP_COPY(224); VJP_COPY(248)

#define VJP_COPY(off) VMOVUPS off(CX), Y0; VMOVUPS Y0, args-280+off(SP)

// VJP_TILE makes a vector of columns of a row of -N_i = -r u - t (x - mu): x at SI, u at R8, the result at DI.
// minusr and t are registers; x and u are scratch.
#define VJP_TILE(off, mu, minusr, t, x, u) \
	VMOVUPS off(SI), x         \
	VSUBPS  mu, x, x           \
	VMULPS  off(R8), minusr, u \
	VFNMADD231PS x, t, u       \
	VMOVUPS u, off(DI)

// VJP_FIRSTROW goes to the first row of a tile of R13 rows, at the column of R12 bytes: SI x, R8 u, DI w, BX r, DX t,
// CX rows left.
#define VJP_FIRSTROW \
	MOVQ VJP_ARG_X, SI    \
	ADDQ R12, SI          \
	MOVQ VJP_ARG_U, R8    \
	ADDQ R12, R8          \
	MOVQ VJP_ARG_WORK, DI \
	ADDQ R12, DI          \
	MOVQ VJP_ARG_R, BX    \
	MOVQ VJP_ARG_T, DX    \
	MOVQ R13, CX

// VJP_NEXTTILE advances v, u and x by R13 rows and jumps to the label tile, if there is another one. Changes AX and CX.
#define VJP_NEXTTILE(tile) \
	LEAQ (R13*4), CX       \
	MOVQ VJP_ARG_VS, AX    \
	IMULQ CX, AX           \
	ADDQ AX, VJP_ARG_V     \
	MOVQ VJP_ARG_US, AX    \
	IMULQ CX, AX           \
	ADDQ AX, VJP_ARG_U     \
	MOVQ VJP_ARG_XS, AX    \
	IMULQ CX, AX           \
	ADDQ AX, VJP_ARG_X     \
	SUBQ $1, VJP_ARG_TILES \
	JNE  tile
