// Package soak has no code: its tests kill the program at random moments, start it again as its messages
// say, and compare the files with those of a run that nobody disturbed. They run on Linux, where they learn
// of every change in a folder (inotify), so that half of the kills hit writes.
//
//	make soak            # some minutes
//	make soak FOR=3h
package soak
