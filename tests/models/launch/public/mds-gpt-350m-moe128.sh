#!/bin/bash
DIR=`pwd`
###
SEQ_LEN=2048

# SIZE=0.125
# LAYERS=12
# HIDDEN=768

SIZE=0.35
LAYERS=24
HIDDEN=1024
HEADS=16
GBS=256

# SIZE=1.3
# LAYERS=24
# HIDDEN=2048
###
TOKENS=300000000000
STEPS=$(( ${TOKENS} * 3 / ${GBS} / ${SEQ_LEN} ))
DURATION=30000000
WARMUP=375000000
DECAY=300000000000
###
MBS=4
MP_SIZE=1
PP_SIZE=1
NUM_GPUS=64
###
# EP_SIZE=1
EP_SIZE=128

if [[ $EP_SIZE -gt $NUM_GPUS ]]; then
    EP_PARALLEL_SIZE=$NUM_GPUS
else
    EP_PARALLEL_SIZE=$EP_SIZE
fi
LR=2.0e-4
MIN_LR=2e-06
MLC=0.01
CAP=1.0
DROP="true"
# DROP="false"
CL="false"
CL_START=80
CL_AVG=$(( (${CL_START} + ${SEQ_LEN}) / 2 ))
CL_TOKENS=60
CL_TOKENS=$((${CL_TOKENS} * 1000000000))
CL_STEP=$(( ${CL_TOKENS} / (${GBS} * ${CL_AVG}) ))
STD=0.014

CKPT_ACT="true"
# CKPT_ACT="false"

NAME="gpt-${SIZE}B-lr-${LR}-bs-${GBS}-gpus-${NUM_GPUS}-mp-${MP_SIZE}-pp-${PP_SIZE}"
if [[ $EP_SIZE -gt 1 ]]; then
    NAME="${NAME}-ep-${EP_SIZE}-mlc-${MLC}-cap-${CAP}-drop-${DROP}"
fi
OUT=$DIR/output
mkdir -p "${OUT}/checkpoint/"
SAVE="${OUT}/checkpoint/${NAME}"

data_opts=" \
         --vocab-file /data/gpt2-vocab.json \
         --merge-file /data/gpt2-merges.txt \
         --data-path /data/pile_text_document \
         --data-impl mmap"
        
opts=" \
        --override-opt_param-scheduler \
        --adam-beta1 0.9 \
        --adam-beta2 0.95 \
        --tensor-model-parallel-size ${MP_SIZE} \
        --moe-expert-parallel-size ${EP_PARALLEL_SIZE} \
        --num-experts ${EP_SIZE} \
        --moe-loss-coeff ${MLC} \
        --moe-train-capacity-factor ${CAP} \
        --moe-eval-capacity-factor ${CAP} \
        --moe-min-capacity 4 \
        --init-method-std ${STD} \
        --lr-decay-tokens ${DECAY} \
        --lr-warmup-tokens ${WARMUP} \
        --micro-batch-size ${MBS} \
        --exit-duration-in-mins ${DURATION} \
        --global-batch-size ${GBS} \
        --num-layers ${LAYERS} \
        --hidden-size ${HIDDEN} \
        --num-attention-heads ${HEADS} \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${SEQ_LEN} \
        --train-tokens ${TOKENS} \
        --train-iters ${STEPS} \
        --lr ${LR} \
        --min-lr ${MIN_LR} \
        --lr-decay-style cosine \
        --split 98,2,0 \
        --log-interval 10 \
        --weight-decay 0.1 \
        --clip-grad 1.0 \
        --hysteresis 2 \
        --num-workers 0 \
        --fp16 \
        --load ${SAVE} \
        --save ${SAVE}"

if [ "${CKPT_ACT}" = "true" ]; then
opts="${opts} \
        --checkpoint-activations"
fi

if [[ $EP_SIZE -gt 1 ]]; then
opts="${opts} \
        --create-moe-param-group"
fi

if [ "${DROP}" = "false" ]; then
opts="${opts} \
        --disable-moe-token-dropping"
fi

template="ds_config_TEMPLATE.json"
config="ds_config_${NAME}.json"
sed "s/CONFIG_BATCH_SIZE/${GBS}/" ${template} \
    | sed "s/CONFIG_MBSIZE/${MBS}/" \
    | sed "s/ZERO_STAGE/0/" \
    | sed "s/CONFIG_FP16_ENABLED/true/" \
    | sed "s/CONFIG_BF16_ENABLED/false/" \
    | sed "s/CONFIG_CL_ENABLED/${CL}/" \
    | sed "s/CONFIG_CL_MAX/${SEQ_LEN}/" \
	  > ${config}

ds_opts=" \
		    --deepspeed \
		    --deepspeed_config ${config} \
		    --pipeline-model-parallel-size ${PP_SIZE}"

if [[ $EP_SIZE -gt 1 ]]; then
ds_opts="${ds_opts} \
        --no-pipeline-parallel"
fi

if [ "${CKPT_ACT}" = "true" ]; then
ds_opts="${ds_opts} \
        --deepspeed-activation-checkpointing"
fi

cmd="deepspeed ${DIR}/../../pretrain_gpt.py ${opts} ${data_opts} ${ds_opts} &> ${OUT}/log/${NAME}.log"
echo ${cmd}
eval ${cmd}
set +x
