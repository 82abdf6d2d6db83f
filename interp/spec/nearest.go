package spec

// Nearest is the candidate that a misspelt name most likely meant: the one with the smallest edit distance, a swap of two
// neighbours counting as one edit, when that is at most a third of the name's length (at least 1). Else "".
func Nearest(name string, candidates []string) string {
	best, at := "", max(len(name)/3, 1)+1
	for _, c := range candidates {
		if c == name {
			return c
		}
		if d := distance(name, c); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
