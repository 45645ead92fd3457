#!/bin/bash
dir=`pwd`
###
seq_len=32768

## 13B
# model_size=13
# layers=40
# hidden=5120
# gbs=1024

# 30B
model_size=30
layers=64
hidden=6144
heads=64
gbs=2
lr=1.0e-4
min_lr=1.0e-6
std=0.008
###
tokens_b=300
tokens=$((${tokens_b} * 1000000000))
samples=$(( 300 * 1000000000 * 2 / ${seq_len} ))
warmup_m=3000
warmup=$((${warmup_m} * 1000000))
decay=$((${tokens_b} * 1000000000))
style="cosine"
###
mp_size=1
sp_size=4
pp_size=1
no_pp="true"
zero_stage=3

num_gpus=$(($(ds_ssh nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)-2))
per_node=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
num_node=$(( ${num_gpus} / ${per_node} ))
dp_size=$(( ${num_gpus} / ${pp_size} / ${mp_size} / ${sp_size} ))

# batch_size=$(( ${gbs} / ${dp_size} ))
batch_size=1

###
log_every=10
save_every=100
ckpt_act="true"
# ckpt_act="false"
seed=1234

vocab="gpt2-vocab.json"
if [ ! -f "$vocab" ]; then
    wget https://example.invalid/gpt2-vocab.json
fi
merges="gpt2-merges.txt"

prescale="true"
job="gpt_${model_size}B_tok${tokens_b}B_lr${lr}_${style}_gbs${gbs}_mbs${batch_size}_g${num_gpus}"
if [[ $zero_stage -gt 0 ]]; then
    job="${job}_z${zero_stage}"
    prescale="false"
fi
if [[ $sp_size -gt 1 ]]; then
    job="${job}_sp${sp_size}"
fi
ckpt="output/checkpoint/${job}"

data_options=" \
    --vocab-file ${vocab} \
    --merge-file ${merges} \
    --data-path books_text_document \
    --data-impl mmap"

options=" \
    --override-opt_param-scheduler \
    --adam-beta1 0.9 \
    --adam-beta2 0.95 \
    --tensor-model-parallel-size 1 \
    --ds-sequence-parallel-size ${sp_size} \
    --init-method-std ${std} \
    --lr-decay-tokens ${decay} \
    --lr-warmup-tokens ${warmup} \
    --micro-batch-size ${batch_size} \
    --global-batch-size ${gbs} \
    --num-layers ${layers} \
    --hidden-size ${hidden} \
    --num-attention-heads ${heads} \
    --seq-length ${seq_len} \
    --max-position-embeddings ${seq_len} \
    --train-tokens ${tokens} \
    --train-samples ${samples} \
    --lr ${lr} \
    --min-lr ${min_lr} \
    --lr-decay-style ${style} \
    --split 949,50,1 \
    --log-interval ${log_every} \
    --save-interval ${save_every} \
    --weight-decay 0.1 \
    --clip-grad 1.0 \
    --hysteresis 2 \
    --num-workers 0 \
    --fp16 \
    --seed ${seed} \
    --load ${ckpt} \
    --save ${ckpt} \
    --no-async-tensor-model-parallel-allreduce \
    --use-flash-attn-triton"

if [ "${ckpt_act}" = "true" ]; then
options="${options} \
    --checkpoint-activations"
fi

config="ds_gbs${gbs}_mbs${batch_size}_zero${zero_stage}.json"
template="ds_template.json"
sed "s/GBSIZE/${gbs}/" ${template} \
    | sed "s/MBSIZE/${batch_size}/" \
    | sed "s/LOG_INTERVAL/${log_every}/" \
    | sed "s/ZERO_STAGE/${zero_stage}/" \
    | sed "s/PRESCALE_GRAD/${prescale}/" \
      > ${config}

ds_options=" \
    --deepspeed \
    --deepspeed_config ${config} \
    --zero-stage ${zero_stage} \
    --pipeline-model-parallel-size ${pp_size}"

if [[ "${no_pp}" = "true" ]]; then
ds_options="${ds_options} \
    --no-pipeline-parallel"
fi

if [ "${ckpt_act}" = "true" ]; then
ds_options="${ds_options} \
    --deepspeed-activation-checkpointing"
fi

iteration=0
for (( node = 0; node <= num_node-1; node++ ))
do
    if $(ssh -q worker-"$node" "test -f \"$ckpt/latest\""); then
        iteration=1
    fi
done

deepspeed ${dir}/../../pretrain_gpt.py ${options} ${data_options} ${ds_options} 2>&1 | tee output/${job}.log
