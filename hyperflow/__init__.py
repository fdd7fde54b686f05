"""HyperFlow: declare a training job once; get a proven split over unequal clusters and the manifests that run it."""
