package dataset

// Data is a data set: both splits, the number of classes and the normalisation.
type Data struct {
	Name        string // "digits", "mnist" or the folder it was read from
	Train, Test *Set   // of the same image size, not empty; Train is nil if source.Options says TestOnly
	Classes     int    // labels are 0 to Classes-1
	Norm        Normalization
}
