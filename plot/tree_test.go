package plot

import "testing"

// TestTree refuses trees that cannot be drawn.
func TestTree(t *testing.T) {
	wide := TreeNode{Children: make([]TreeNode, mostLeaves+1)}
	for _, root := range []TreeNode{{}, {Label: "alone"}, wide} {
		if err := Check(Tree{Root: root}); err == nil {
			t.Errorf("%d children: no error", len(root.Children))
		}
	}
}
