// Package fetch downloads data sets: MNIST, Fashion-MNIST, or any files of known size and SHA-256, from
// the first mirror that delivers them. Interrupted downloads resume.
//
//	files := []fetch.File{{Name: "a.csv", Size: 8, SHA256: sum}} // nil: those of MNIST
//	err = fetch.Files(ctx, dir, fetch.Options{Files: files, Mirrors: mirrors})
package fetch

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dpnbench/internal/folderlock"
)

// File is a file to fetch, with its expected content.
type File struct {
	Name   string // appended to each mirror's address, and in the folder
	Size   int64  // bytes
	SHA256 string // in hexadecimal; may be empty with Content

	// Content, if set, is the SHA-256 of what the file holds once gzip has unpacked it, or of a file that is not
	// packed: any such file counts, whatever its size.
	Content string
}

// Options says what Files downloads, and from where. The zero value is
// MNIST from its usual mirrors.
type Options struct {
	Files   []File        // nil: the four files of MNIST
	Mirrors []string      // addresses to which names are appended, tried in order; nil: the usual ones
	Client  *http.Client  // nil: one with timeouts for hosts that do not answer
	Stall   time.Duration // give up on a mirror that sends nothing for this long; 0: 30 seconds

	// Progress, if set, is called as bytes of a file arrive, and once with done equal to total
	// for a file that is already there. done decreases when wrong content is discarded.
	Progress func(name string, done, total int64)
}

// mnistFiles are MNIST's files as LeCun, Cortes and Burges published them.
var mnistFiles = []File{
	{"train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
		"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
	{"train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
		"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
	{"t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
		"0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
	{"t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
		"ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}

var mnistMirrors = []string{
	"https://storage.googleapis.com/cvdf-datasets/mnist/",
	"https://ossci-datasets.s3.amazonaws.com/mnist/",
	"http://yann.lecun.com/exdb/mnist/",
}

// fashionFiles are those of Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017), which mirrors have compressed anew.
var fashionFiles = []File{
	{"train-images-idx3-ubyte.gz", 26421880, "", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
	{"train-labels-idx1-ubyte.gz", 29515, "", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
	{"t10k-images-idx3-ubyte.gz", 4422102, "", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
	{"t10k-labels-idx1-ubyte.gz", 5148, "", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
}

var fashionMirrors = []string{
	"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
	"https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
	"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
}

// Named returns the files and usual mirrors of "mnist" or "fashion-mnist"; none of another name.
func Named(name string) (files []File, mirrors []string) {
	switch name {
	case "mnist":
		return mnistFiles, mnistMirrors
	case "fashion-mnist":
		return fashionFiles, fashionMirrors
	}
	return nil, nil
}

// Error reports that no mirror delivered a file, with the reason for each.
type Error struct {
	File     string
	Failures []error // in the order of the attempts, each naming its address
}

func (e *Error) Error() string {
	why := make([]string, len(e.Failures))
	for i, err := range e.Failures {
		why[i] = err.Error()
	}
	return fmt.Sprintf("no mirror delivered %s: %s", e.File, strings.Join(why, "; "))
}

func (e *Error) Unwrap() []error { return e.Failures }

// Files downloads files into the folder dir, which it creates. A file that is there with the
// right hash is left unchanged. The others are written to their name with ".part" appended and
// renamed once size and hash are right, so a name never stands for half a file. A .part left by
// an interrupted fetch is resumed, from whichever mirror answers. If no mirror delivers a file
// the error is a *Error; if ctx ends it wraps ctx's error.
//
// Fetches into one folder wait for each other, so each file is downloaded once. Nothing is written
// through a symbolic link, a pipe or a hard link in the folder. Errors do not show passwords or
// queries of addresses, and quote what a server sent.
func Files(ctx context.Context, dir string, opt Options) error {
	if opt.Files == nil {
		opt.Files = mnistFiles
	}
	if opt.Mirrors == nil {
		opt.Mirrors = mnistMirrors
	}
	if opt.Client == nil {
		opt.Client = patientClient()
	}
	if opt.Stall == 0 {
		opt.Stall = 30 * time.Second
	}
	if opt.Progress == nil {
		opt.Progress = func(string, int64, int64) {}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	release := func() {}
	defer func() { release() }()
	locked := false
	for _, f := range opt.Files {
		if f.Name == "." || f.Name != filepath.Base(f.Name) || !filepath.IsLocal(f.Name) {
			return fmt.Errorf("fetch: file %q: expected a name without a folder", f.Name)
		}
		d := &download{
			Options: &opt,
			file:    f,
			dir:     dir,
			final:   filepath.Join(dir, f.Name),
			part:    filepath.Join(dir, f.Name+".part"),
		}
		if there, err := d.present(); err != nil {
			return err
		} else if there {
			continue
		}
		if !locked {
			var err error
			if release, err = lockFolder(ctx, dir); err != nil {
				return fmt.Errorf("fetching %s: %w", f.Name, err)
			}
			locked = true
		}
		if err := d.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// acquire locks a folder; tests replace it.
var acquire = folderlock.Acquire

// lockPoll is the time between two attempts to lock a folder.
const lockPoll = 50 * time.Millisecond

// lockFolder waits until no other fetch writes to dir. If the folder cannot be locked at all, the
// fetch goes on without a lock.
func lockFolder(ctx context.Context, dir string) (release func(), err error) {
	for {
		release, err := acquire(dir)
		if err == nil {
			return release, nil
		}
		if !errors.Is(err, folderlock.ErrHeld) {
			return func() {}, nil
		}
		select {
		case <-ctx.Done():
			return func() {}, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// patientClient returns a client with timeouts for each step before the first byte, but none
// for the whole download, which may be slow.
func patientClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 15 * time.Second
	t.ResponseHeaderTimeout = 30 * time.Second
	return &http.Client{Transport: t}
}

// attemptsPerMirror bounds how often a broken connection is retried before the next mirror.
const attemptsPerMirror = 4

// download is the transfer of one file.
type download struct {
	*Options
	file        File
	dir         string
	final, part string
}

// localError is a failure of the local disk: trying another mirror would not help.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// present reports whether the file is there with the right content. A symbolic link may lead to it;
// one that leads elsewhere, or nowhere, is in the way.
func (d *download) present() (bool, error) {
	err := d.verify(d.final)
	if err == nil {
		d.Progress(d.file.Name, d.file.Size, d.file.Size)
		return true, nil
	}
	if errors.As(err, new(localError)) {
		return false, err
	}
	if info, statErr := os.Lstat(d.final); statErr == nil && !info.Mode().IsRegular() {
		return false, inTheWay(d.final)
	}
	return false, nil
}

func inTheWay(path string) error {
	return localError{fmt.Errorf("%s is in the way: expected a file, or nothing", path)}
}

func (d *download) run(ctx context.Context) error {
	if there, err := d.present(); there || err != nil { // another fetch may just have finished
		return err
	}
	var failures []error
	for _, mirror := range d.Mirrors {
		address := join(mirror, d.file.Name)
		for range attemptsPerMirror {
			if ctx.Err() != nil {
				return fmt.Errorf("fetching %s: %w", d.file.Name, ctx.Err())
			}
			again, err := d.attempt(ctx, address)
			if err == nil {
				return d.install()
			}
			if d.verify(d.final) == nil { // without locks, another fetch may have been faster
				return nil
			}
			if errors.As(err, new(localError)) {
				return err
			}
			failures = append(failures, failure(address, err))
			if !again {
				break
			}
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fetching %s: %w", d.file.Name, ctx.Err())
	}
	return &Error{File: d.file.Name, Failures: failures}
}

// attempt downloads the missing rest of the .part from address and verifies it. If it fails,
// again says whether to retry the same mirror: it sent something before it broke off, or the
// .part was wrong and has been removed.
func (d *download) attempt(ctx context.Context, address string) (again bool, err error) {
	have, err := d.leftover()
	if err != nil {
		return false, err
	}
	resumed := have > 0
	if have < d.file.Size {
		var got int64
		again, got, err = d.transfer(ctx, address, have)
		if err != nil {
			return again || got > 0, err
		}
	}
	if err := d.verify(d.part); err != nil {
		return resumed, d.discardFor(err)
	}
	return false, nil
}

// leftover returns how many bytes the .part has from an earlier attempt.
func (d *download) leftover() (int64, error) {
	info, err := os.Lstat(d.part)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, localError{err}
	}
	if !info.Mode().IsRegular() {
		return 0, inTheWay(d.part)
	}
	if info.Size() > d.file.Size || hardLinked(info) {
		return 0, d.discard()
	}
	return info.Size(), nil
}

// discard removes the .part. Truncating it instead would destroy the data of another process
// that downloads the same file.
func (d *download) discard() error {
	if err := os.Remove(d.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return localError{err}
	}
	return nil
}

// discardFor removes the .part because of err, and returns err unless the removal fails.
func (d *download) discardFor(err error) error {
	if rmErr := d.discard(); rmErr != nil {
		return rmErr
	}
	return err
}

var errStalled = errors.New("nothing received for too long")

// transfer appends what address sends to the .part, of which have bytes exist. got is the number
// of bytes written; again says that the .part did not fit and was discarded.
func (d *download) transfer(ctx context.Context, address string, have int64) (again bool, got int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(d.Stall, func() { cancel(errStalled) })
	defer watchdog.Stop()
	explain := func(err error) error {
		if errors.Is(context.Cause(ctx), errStalled) {
			return fmt.Errorf("%w (%v)", errStalled, d.Stall)
		}
		if u, ok := errors.AsType[*url.Error](err); ok {
			return u.Err // without the address, which the caller adds
		}
		return err
	}

	req, err := request(ctx, address, have)
	if err != nil {
		return false, 0, err
	}
	resp, err := d.Client.Do(req)
	if err != nil {
		return false, 0, explain(err)
	}
	defer resp.Body.Close()
	if have, again, err = d.accept(resp, have); err != nil {
		return again, 0, err
	}
	received := func() { watchdog.Reset(d.Stall) }
	got, err = d.receive(resp.Body, have, received, explain)
	return false, got, err
}

// request asks address for the file from byte have on.
func request(ctx context.Context, address string, have int64) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "dpnbench")
	// Without this the client would decompress a .gz.
	req.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	return req, nil
}

// accept checks the header of a response to a request from byte have on, and returns the byte
// that the response starts with. again is as for transfer.
func (d *download) accept(resp *http.Response, have int64) (start int64, again bool, err error) {
	switch {
	case resp.StatusCode == http.StatusOK:
		if have > 0 { // the server does not resume
			if err := d.discard(); err != nil {
				return 0, false, err
			}
			have = 0
		}
	case resp.StatusCode == http.StatusPartialContent && have > 0:
		var from, to int64
		var total string
		r := resp.Header.Get("Content-Range")
		n, _ := fmt.Sscanf(r, "bytes %d-%d/%s", &from, &to, &total)
		if n != 3 || from != have || total != "*" && total != fmt.Sprint(d.file.Size) && d.file.Content == "" {
			return 0, true, d.discardFor(fmt.Errorf("sent range %q, expected bytes %d on of %d", r, have, d.file.Size))
		}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && have > 0:
		return 0, true, d.discardFor(fmt.Errorf("refused to resume at byte %d", have))
	default:
		return 0, false, errors.New(strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ",
			http.StatusText(resp.StatusCode))))
	}
	if n := resp.ContentLength; n > 0 && d.file.Content != "" && have+n <= mostPacked {
		d.file.Size = have + n // compressed in another way
	} else if n >= 0 && have+n != d.file.Size {
		return 0, false, fmt.Errorf("offers %d bytes, expected %d", have+n, d.file.Size)
	}
	return have, false, nil
}

// receive writes body to the .part from byte have on until the file is complete. received is
// called after every read; explain rewords the error of one.
func (d *download) receive(body io.Reader, have int64, received func(), explain func(error) error) (got int64,
	err error) {
	out, err := d.open(have)
	if err != nil {
		return 0, localError{err}
	}
	defer func() {
		syncErr := out.Sync()
		if unsupported(syncErr) {
			syncErr = nil
		}
		if closeErr := out.Close(); syncErr == nil {
			syncErr = closeErr
		}
		if syncErr != nil && (err == nil || !errors.As(err, new(localError))) {
			err = localError{syncErr}
		}
	}()
	buf := make([]byte, 64<<10)
	d.Progress(d.file.Name, have, d.file.Size)
	for {
		n, readErr := body.Read(buf)
		received()
		if have+int64(n) > d.file.Size {
			return got, d.discardFor(fmt.Errorf("sends more than the %d bytes expected", d.file.Size))
		}
		if _, err := out.WriteAt(buf[:n], have); err != nil {
			return got, localError{err}
		}
		have += int64(n)
		got += int64(n)
		if n > 0 {
			d.Progress(d.file.Name, have, d.file.Size)
		}
		if have == d.file.Size {
			return got, nil
		}
		if errors.Is(readErr, io.EOF) {
			readErr = io.ErrUnexpectedEOF
		}
		if readErr != nil {
			return got, fmt.Errorf("broke off after %d of %d bytes: %w", have, d.file.Size, explain(readErr))
		}
	}
}

// open opens the .part, of which have bytes exist, without following links: a new file is created,
// and an old one is compared with what its name stands for before anything is written. Where there
// are no locks another fetch may create or remove the file in between: then it tries again.
func (d *download) open(have int64) (out *os.File, err error) {
	for range 10 {
		if out, err = d.openOnce(have); err == nil ||
			!errors.Is(err, fs.ErrExist) && !(errors.Is(err, fs.ErrNotExist) && have == 0) {
			break
		}
	}
	return out, err
}

func (d *download) openOnce(have int64) (*os.File, error) {
	before, err := os.Lstat(d.part)
	if errors.Is(err, fs.ErrNotExist) && have == 0 {
		return os.OpenFile(d.part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, inTheWay(d.part)
	}
	out, err := os.OpenFile(d.part, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if info, err := out.Stat(); err != nil || !os.SameFile(info, before) || hardLinked(info) {
		out.Close()
		return nil, inTheWay(d.part)
	}
	return out, nil
}

// unsupported reports an error of Sync from a file system that cannot.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, errors.ErrUnsupported)
}

// verify returns nil if the file at path has the right size and hash.
func (d *download) verify(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return localError{err}
	}
	if !info.Mode().IsRegular() {
		return inTheWay(path)
	}
	if size := info.Size(); size != d.file.Size && (d.file.Content == "" || size > mostContent) {
		return fmt.Errorf("%d bytes, expected %d", size, d.file.Size)
	}
	f, err := os.Open(path)
	if err != nil {
		return localError{err}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return localError{err}
	}
	sum := hex.EncodeToString(h.Sum(nil))
	switch want := d.file; {
	case want.SHA256 != "" && strings.EqualFold(sum, want.SHA256),
		want.Content != "" && strings.EqualFold(sum, want.Content):
		return nil
	case want.Content != "":
		return d.verifyContent(f)
	}
	return fmt.Errorf("wrong content: SHA-256 %s, expected %s", sum, d.file.SHA256)
}

// The most bytes of a file with known content, packed and not.
const mostPacked, mostContent = 1 << 30, 1 << 30

// verifyContent returns nil if the file is compressed and has the right content.
func (d *download) verifyContent(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return localError{err}
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("wrong content: %w", err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(z, mostContent)); err != nil {
		return fmt.Errorf("wrong content: %w", err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(sum, d.file.Content) {
		return fmt.Errorf("wrong content: SHA-256 %s once unpacked, expected %s", sum, d.file.Content)
	}
	return nil
}

// install renames the verified .part to its final name and syncs the folder.
func (d *download) install() error {
	if err := os.Rename(d.part, d.final); err != nil {
		if d.verify(d.final) == nil { // without locks, another fetch may have been first
			return nil
		}
		return err
	}
	if folder, err := os.Open(d.dir); err == nil { // the file is there, even if the folder cannot be synced
		_ = folder.Sync()
		folder.Close()
	}
	return nil
}
