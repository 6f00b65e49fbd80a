from swingby.lab.diffusion.vectors.vector_comparison import VectorComparison as VectorComparison
from swingby.lab.diffusion.vectors.vector_comparison import compare_vectors as compare_vectors
from swingby.lab.diffusion.vectors.vector_prediction import VectorPrediction as VectorPrediction
from swingby.lab.diffusion.vectors.vector_prediction import predict_vectors as predict_vectors
from swingby.lab.diffusion.vectors.vector_setting import VectorSetting as VectorSetting
from swingby.lab.diffusion.vectors.vector_training import VectorRun as VectorRun
from swingby.lab.diffusion.vectors.vector_training import train_vectors as train_vectors
