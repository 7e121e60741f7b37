package output

import "os"

// Append cuts the file at path, which must be there, to size bytes and adds b. After a crash it holds the first
// size bytes and a part of b. An error of the file system is a *fs.PathError of path.
func Append(path string, size int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return about("append", path, err)
	}
	err = f.Truncate(size)
	if err == nil {
		_, err = f.WriteAt(b, size)
	}
	if syncErr := f.Sync(); err == nil && syncErr != nil && !refused(syncErr) {
		err = syncErr
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return about("append", path, err)
	}
	return nil
}
