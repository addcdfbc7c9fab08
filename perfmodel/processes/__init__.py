"""Many variants of a kernel at once: in several processes of one machine, or on a cluster, by way of joblib."""
