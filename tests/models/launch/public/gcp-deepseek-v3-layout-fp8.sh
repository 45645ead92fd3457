#!/bin/bash
set -euxo pipefail

source /usr/local/lib/nccl_env.sh
export NCCL_SOCKET_IFNAME="eth0,eth1"
export TRITON_CACHE_DIR="/tmp/triton/"
#export NCCL_DEBUG=INFO
export CUDA_DEVICE_MAX_CONNECTIONS=32
export NVTE_FUSED_ATTN=1

chmod +x /opt/Megatron-LM/pretrain_gpt.py


NCCL_DEBUG=$NCCL_LOG PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True" OMP_NUM_THREADS=8 torchrun \
        --nproc_per_node 8 \
        --nnodes $NNODES \
        --node_rank $NODE_RANK \
        --master_addr $MASTER_ADDR \
        --rdzv_id="${JOB_ID}" \
        --rdzv_backend static \
        --master_port $MASTER_PORT /opt/Megatron-LM/pretrain_gpt.py \
        --distributed-timeout-minutes 60 \
        --tensor-model-parallel-size 1 \
        --pipeline-model-parallel-size 8 \
        --expert-model-parallel-size 4 \
        --context-parallel-size 1 \
        --expert-tensor-parallel-size 1 \
        --use-distributed-optimizer  \
        --use-mcore-models  \
        --sequence-parallel  \
        --use-flash-attn  \
        --disable-bias-linear  \
        --micro-batch-size 1 \
        --global-batch-size 256 \
        --train-samples 65528000 \
        --no-save-optim  \
        --cross-entropy-loss-fusion  \
        --cross-entropy-fusion-impl te \
        --manual-gc  \
        --transformer-impl transformer_engine \
        --seq-length 4096 \
        --tokenizer-type HuggingFaceTokenizer \
        --tokenizer-model deepseek-ai/DeepSeek-V3 \
        --mock-data  \
        --split 99,1,0 \
        --num-workers 6 \
        --num-layers 61 \
        --hidden-size 7168 \
        --ffn-hidden-size 18432 \
        --num-attention-heads 128 \
        --kv-channels 128 \
        --max-position-embeddings 4096 \
        --position-embedding-type rope \
        --rotary-base 10000 \
        --make-vocab-size-divisible-by 3232 \
        --normalization RMSNorm \
        --norm-epsilon 1e-6 \
        --swiglu  \
        --untie-embeddings-and-output-weights  \
        --multi-latent-attention  \
        --attention-dropout 0.0 \
        --hidden-dropout 0.0 \
        --clip-grad 1.0 \
        --weight-decay 0.1 \
        --qk-layernorm  \
        --lr 3.9e-7 \
        --min-lr 3.9e-7 \
        --lr-decay-style cosine \
        --num-experts 256 \
        --moe-layer-freq "([0]*3+[1]*58)" \
        --moe-ffn-hidden-size 2048 \
        --moe-shared-expert-intermediate-size 2048 \
        --moe-router-load-balancing-type seq_aux_loss \
        --moe-router-topk 8 \
        --moe-token-dispatcher-type alltoall \
        --moe-shared-expert-overlap \
        --moe-router-pre-softmax  \
        --moe-router-group-topk 1 \
        --moe-router-num-groups 8 \
        --moe-router-score-function sigmoid \
        --moe-router-enable-expert-bias  \
        --moe-router-dtype fp32 \
        --q-lora-rank 1536 \
        --kv-lora-rank 512 \
        --qk-head-dim 128 \
        --qk-pos-emb-head-dim 64 \
        --v-head-dim 128 \
        --rotary-scaling-factor 40 \
        --mscale 1.0 \
        --mscale-all-dim 1.0 \
        --mtp-num-layers 1 \
        --mtp-loss-scaling-factor 0.1 \
        --eval-iters 32 \
        --save /out/DeepSeek-V3-TP1PP8EP32VPP4CP1-MBS1GBS8192/checkpoints \
        --init-method-std 0.02 \
        --log-throughput  \
        --bf16  \
        --enable-experimental \
        --recompute-granularity selective \
        --recompute-modules mla_up_proj moe mlp layernorm \
        --pipeline-model-parallel-layout "Et*2|(tt|)*22t|(tt|)*7mL" \
        --fp8-recipe $FP8_RECIPE \
        --fp8-format e4m3 \
        --use-precision-aware-optimizer \
        --main-grads-dtype fp32 \
        --main-params-dtype fp32 \
        --exp-avg-dtype bf16 \
        --exp-avg-sq-dtype bf16 \
        --moe-router-padding-for-fp8 \
        --overlap-grad-reduce \
        --overlap-param-gather
