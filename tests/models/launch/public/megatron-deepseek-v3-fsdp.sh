#!/bin/bash
export NCCL_IB_SL=1
export NCCL_IB_TIMEOUT=19
export NVTE_FWD_LAYERNORM_SM_MARGIN=16
export TRITON_CACHE_DIR=/tmp/triton_$SLURM_NODEID

REPO=${REPO:-"path_of_megatron"}
IMAGE=${IMAGE:-"image_of_choice"}
OUT=${OUT:-"path_of_output"}
DATA=${DATA:-"path_of_data"}
USE_FSDP=${USE_FSDP:-1}
SHARDING=${SHARDING:-"optim_grads_params"}
PROFILE=${PROFILE:-0}
WANDB=${WANDB:-1}

TP=${TP:-1}
EP=${EP:-8}
MBS=${MBS:-4}
GBS=${GBS:-2048}
COMMENT=${COMMENT:-""}

ARGS=(
    --distributed-timeout-minutes 60
    --tensor-model-parallel-size ${TP}
    --expert-model-parallel-size ${EP}
    --expert-tensor-parallel-size 1
    --context-parallel-size 1
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
    --use-mcore-models
    --sequence-parallel
    --use-flash-attn
    --disable-bias-linear
    --micro-batch-size ${MBS}
    --global-batch-size ${GBS}
    --train-samples 585937500
    --manual-gc
    --manual-gc-interval 10
    --recompute-granularity selective
    --recompute-modules mlp moe mla_up_proj layernorm
    --transformer-impl transformer_engine
    --seq-length 4096
    --data-cache-path ${OUT}/cache
    --tokenizer-type HuggingFaceTokenizer
    --tokenizer-model deepseek-ai/DeepSeek-V3
    --data-path ${DATA}
    --split 99,1,0
    --num-workers 6
    --num-layers 61
    --hidden-size 7168
    --ffn-hidden-size 18432
    --num-attention-heads 128
    --kv-channels 128
    --max-position-embeddings 4096
    --position-embedding-type rope
    --rotary-base 10000
    --make-vocab-size-divisible-by 3232
    --normalization RMSNorm
    --norm-epsilon 1e-6
    --swiglu
    --untie-embeddings-and-output-weights
    --multi-latent-attention
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --clip-grad 1.0
    --weight-decay 0.1
    --qk-layernorm
    --lr-decay-samples 584765624
    --lr-warmup-samples 1536000
    --lr-warmup-init 3.9e-7
    --lr 3.9e-6
    --min-lr 3.9e-7
    --lr-decay-style cosine
    --adam-beta1 0.9
    --adam-beta2 0.95
    --num-experts 256
    --moe-layer-freq [0]*3+[1]*58
    --moe-ffn-hidden-size 2048
    --moe-shared-expert-intermediate-size 2048
    --moe-router-load-balancing-type seq_aux_loss
    --moe-router-topk 8
    --moe-token-dispatcher-type flex
    --moe-flex-dispatcher-backend hybridep
    --moe-router-pre-softmax
    --moe-grouped-gemm
    --moe-aux-loss-coeff 1e-4
    --moe-router-group-topk 4
    --moe-router-num-groups 8
    --moe-router-topk-scaling-factor 2.5
    --moe-router-score-function sigmoid
    --moe-router-enable-expert-bias
    --moe-router-bias-update-rate 1e-3
    --moe-router-dtype fp32
    --moe-permute-fusion
    --q-lora-rank 1536
    --kv-lora-rank 512
    --qk-head-dim 128
    --qk-pos-emb-head-dim 64
    --v-head-dim 128
    --rotary-scaling-factor 40
    --mscale 1.0
    --mscale-all-dim 1.0
    --mtp-num-layers 1
    --mtp-loss-scaling-factor 0.1
    --eval-iters 32
    --save ${OUT}/checkpoints
    --save-interval 100
    --init-method-std 0.02
    --tensorboard-dir ${OUT}/tensorboard
    --bf16
    --enable-experimental
) 

if [ "${USE_FSDP}" = 1 ]; then
    unset CUDA_DEVICE_MAX_CONNECTIONS
    ARGS=(
        "${ARGS[@]}"
        --use-megatron-fsdp
        --data-parallel-sharding-strategy ${SHARDING}
        --no-gradient-accumulation-fusion
        --use-distributed-optimizer
        --calculate-per-token-loss
        --init-model-with-meta-device
        --ckpt-format fsdp_dtensor
        --fsdp-double-buffer
        --use-nccl-ub
        --megatron-fsdp-grad-comm-dtype bf16
        --megatron-fsdp-main-grads-dtype bf16
    )
fi

if [ "${PROFILE}" = 1 ]; then
    PROFILE_CMD="nsys profile --sample=none --cpuctxsw=none \
        -o ${OUT}/nsys/dsv3-TP${TP}EP${EP}-MBS${MBS}GBS${GBS}-${COMMENT}"
    ARGS=(
        "${ARGS[@]}"
        --profile
        --profile-ranks 0
    )
else
    PROFILE_CMD=""
fi

if [ "${WANDB}" = 1 ]; then
    ARGS=(
        "${ARGS[@]}"
        --wandb-project moe
        --wandb-exp-name dsv3-TP${TP}EP${EP}-MBS${MBS}GBS${GBS}-${COMMENT}
    )
fi

CMD="
cd ${REPO};
git rev-parse HEAD;
export PYTHONPATH=${REPO}:${PYTHONPATH};
${PROFILE_CMD} python ${REPO}/pretrain_gpt.py ${ARGS[@]}"

LOGS="${OUT}/slurm_logs"
mkdir -p ${LOGS} || {
    echo "cannot make ${LOGS}"
    exit 1
}

set +e
sbatch <<EOF
#!/bin/bash

#SBATCH --job-name=choose_a_name
#SBATCH --partition=choose_a_partition
#SBATCH --nodes=choose_a_number
#SBATCH --ntasks-per-node=choose_tasks
#SBATCH --gres=gpu:choose_gpus
#SBATCH --exclusive

srun \
    --mpi=pmix -l \
    --container-image=${IMAGE} \
    --container-workdir=${REPO} \
    bash -x -c "${CMD}" 2>&1 | tee ${LOGS}/\${SLURM_JOB_ID}.log

EOF
set -e
