from swingby.diffusion.vectors.compare import VectorComparison as VectorComparison
from swingby.diffusion.vectors.compare import compare_vectors as compare_vectors
from swingby.diffusion.vectors.laws import VectorPrediction as VectorPrediction
from swingby.diffusion.vectors.laws import predict_vectors as predict_vectors
from swingby.diffusion.vectors.setting import VectorSetting as VectorSetting
from swingby.diffusion.vectors.train import VectorRun as VectorRun
from swingby.diffusion.vectors.train import train_vectors as train_vectors
