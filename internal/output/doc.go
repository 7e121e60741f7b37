// Package output knows the files that a command reads and writes, and writes them.
//
// [Files] is told every input and output of a command. Its Check refuses, before any work, an
// output that is an input, another output, a file of the run or standard output, and an output
// that cannot be written. Names are compared after following symbolic links, also dangling
// ones, by device and inode, and where the file system ignores case without regard to it.
//
// [Write] and [Batch] replace whole files: the new content goes to a temporary file in the
// same folder, which is synced and renamed. A crash leaves the old content or the new one. A Batch
// writes all its files before it replaces the first one; if one of them fails, the old ones stay. If
// the process is killed while it replaces them, the next write to the folder, or Finish, does the rest.
//
// One rule holds for every file that is replaced:
//   - a symbolic link is followed to its end, and stays; a target that does not exist is created;
//   - the mode is kept, and owner and group where the system permits it;
//   - other hard links of the file keep the old content;
//   - a file without permission to write is refused, even if its folder would allow replacing it;
//   - a pipe or a device is written to.
//
// Where the file system refuses a temporary file or the rename (a file that is a mount point, a
// folder without permission to write) the file is written in place. Where it refuses to set mode or
// owner or to sync, writing goes on without.
//
// Temporary files are locked while they are written. The next write of the same file removes those
// that a killed process has left, and CleanFolder those of all files in a folder.
package output
