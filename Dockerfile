# The program and nothing else. Data and results are in the working folder:
#
#   docker build -t dpnbench .
#   docker run --rm -v "$PWD:/work" dpnbench train --out runs/first
FROM golang:1.26 AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags=nethttpomithttp2 -ldflags='-s -w' -o /dpnbench ./cmd/dpnbench

FROM scratch
# Certificates for "data fetch".
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /dpnbench /dpnbench
WORKDIR /work
ENV HOME=/work
ENTRYPOINT ["/dpnbench"]
CMD ["--help"]
