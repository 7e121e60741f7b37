"""Writes scikit-learn's small tables as CSV files into a folder, whole, in 5 stratified folds, and the training
part of each in 5 folds again; prints how many test samples logistic regression has right in each fold."""
import csv
import json
import os
import sys

try:
    import numpy as np
    import sklearn
    from sklearn import datasets
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
except ImportError as e:
    sys.exit("missing: %s" % e)

folder = sys.argv[1]


def write(name, data, rows):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(list(data.feature_names) + ["class"])
        for i in rows:
            w.writerow([repr(float(v)) for v in data.data[i]] + [data.target_names[data.target[i]]])


tables = []
for name in ["iris", "wine", "breast_cancer", "digits"]:
    data = getattr(datasets, "load_" + name)()
    write(name + ".csv", data, range(len(data.target)))
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    right = []
    for k, (train, test) in enumerate(folds.split(data.data, data.target)):
        write("%s-%d/train.csv" % (name, k), data, train)
        write("%s-%d/test.csv" % (name, k), data, test)
        inner = StratifiedKFold(5, shuffle=True, random_state=2)
        for j, (fit, val) in enumerate(inner.split(data.data[train], data.target[train])):
            write("%s-%d-%d/train.csv" % (name, k, j), data, train[fit])
            write("%s-%d-%d/test.csv" % (name, k, j), data, train[val])
        # C is 1, the default; the default of 100 iterations is too few for some tables.
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10000))
        model.fit(data.data[train], data.target[train])
        right.append(int(np.sum(model.predict(data.data[test]) == data.target[test])))
    tables.append({"name": name, "right": right})
print(json.dumps({"version": sklearn.__version__, "tables": tables}))
