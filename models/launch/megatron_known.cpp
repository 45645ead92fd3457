#include "models/launch/megatron_known.h"

#include <algorithm>
#include <vector>

#include "sim/base/text.h"

namespace goodput::launch {
namespace {

// Arguments without a value that are read, with commas between them.
constexpr std::string_view kFlags =
    "account_for_embedding_in_pipeline_split,account_for_loss_in_pipeline_split,"
    "accumulate_allreduce_grads_in_fp32,add_qkv_bias,bf16,checkpoint_activations,cpu_optimizer,"
    "deepspeed,deepspeed_activation_checkpointing,disable_bias_linear,fp16,fp8_e4m3,fp8_hybrid,"
    "grad_reduce_in_bf16,group_query_attention,moe_enable_deepep,moe_grouped_gemm,"
    "moe_router_enable_expert_bias,moe_shared_expert_gate,multi_latent_attention,"
    "no_async_tensor_model_parallel_allreduce,no_gradient_accumulation_fusion,"
    "no_overlap_p2p_communication,no_pipeline_parallel,no_position_embedding,optimizer_cpu_offload,"
    "overlap_grad_reduce,overlap_p2p_communication,overlap_param_gather,qk_layernorm,quick_geglu,"
    "recompute_activations,sequence_parallel,squared_relu,swiglu,tp_comm_overlap,"
    "untie_embeddings_and_output_weights,use_custom_fsdp,use_distributed_optimizer,use_flash_attn,"
    "use_flash_attn_v2,use_megatron_fsdp,use_precision_aware_optimizer,use_rotary_position_embeddings,"
    "use_torch_fsdp2";

constexpr std::string_view kValues =
    "attention_backend,checkpoint_method,checkpoint_num_layers,context_parallel_size,cp_comm_type,"
    "data_parallel_sharding_strategy,decoder_first_pipeline_num_layers,"
    "decoder_last_pipeline_num_layers,ds_sequence_parallel_size,exp_avg_dtype,exp_avg_sq_dtype,"
    "expert_model_parallel_size,expert_tensor_parallel_size,ffn_hidden_size,fp8_format,fp8_recipe,"
    "global_batch_size,hidden_size,kv_channels,kv_lora_rank,main_params_dtype,"
    "make_vocab_size_divisible_by,max_position_embeddings,micro_batch_size,moe_ffn_hidden_size,"
    "moe_layer_freq,moe_router_group_topk,moe_router_num_groups,moe_router_topk,"
    "moe_shared_expert_intermediate_size,moe_token_dispatcher_type,mtp_num_layers,normalization,"
    "num_attention_heads,num_distributed_optimizer_instances,num_experts,num_key_value_heads,"
    "num_layers,num_layers_per_virtual_pipeline_stage,num_query_groups,"
    "num_virtual_stages_per_pipeline_rank,optimizer,pipeline_model_parallel_layout,"
    "pipeline_model_parallel_size,position_embedding_type,q_lora_rank,qk_head_dim,qk_pos_emb_head_dim,"
    "recompute_granularity,recompute_method,recompute_num_layers,seq_length,tensor_model_parallel_size,"
    "tokenizer_type,transformer_impl,v_head_dim,vocab_size,zero_stage";

// A name that ends with "_" or "-": all that begin so.
constexpr std::string_view kChanges =
    "apply_residual_connection_post_layernorm,compression_training,cpu_offloading,cpu_offloading_,"
    "cuda_graph_,defer_embedding_wgrad_compute,delay_wgrad_compute,distribute_saved_activations,dsa_,"
    "embed_layernorm,enable_cuda_graph,enable_zbh1_,encoder_context_parallel_size,encoder_hidden_size,"
    "encoder_pipeline_model_parallel_size,encoder_tensor_model_parallel_size,"
    "experimental_attention_variant,external_cuda_graph,fine_grained_activation_offloading,"
    "first_last_layers_bf16,flextron,fp16_lm_cross_entropy,fp32_residual_connection,fp8_param,"
    "fp8_param_gather,freeze_,hierarchical_context_parallel_sizes,kd,kitchen_,linear_,lora_,mamba_,"
    "moe_expert_capacity_factor,moe_extended_tp,moe_latent_size,moe_layer_recompute,"
    "moe_pad_expert_input_to_capacity,moe_shared_expert_overlap,moe_train_capacity_factor,mos,"
    "num_layers_at_end_in_bf16,num_layers_at_start_in_bf16,offload_modules,"
    "overlap_moe_expert_parallel_comm,overlap_param_gather_with_optimizer_step,parallel_attn,"
    "partition_activations,peft,pipeline_model_parallel_split_rank,position_encoding_2d,"
    "post_layer_norm,rampup_batch_size,random_ltd,retro_,standalone_embedding_stage,"
    "step_batch_size_schedule,tp_comm_split_,use_alibi_mask,use_post_ln,use_tutel,vision_,"
    "window_attn_skip_freq";

constexpr std::string_view kNone =
    "DDP_impl,accumulate_,adam_,ademamix_,adlr_,aim_,align_,allow_,apply_layernorm_1p,"
    "apply_query_key_layer_scaling,apply_wd_,async_,attention_dropout,attention_softmax_in_fp32,"
    "auto_detect_,barrier_,beta,bias_,bucket_,calculate_per_token_loss,check_,checkpoint_,ckpt_,"
    "clip_grad,clone_,codecarbon_,config_logger_dir,cosine_,create_attention_mask_,"
    "create_moe_param_group,cross_entropy_,curriculum_,data_,dataloader_,ddp_,decoupled_,"
    "decrease_batch_size_if_needed,deepspeed_config,deterministic_mode,disable_moe_token_dropping,"
    "disable_straggler_on_startup,dist_,distribute,distributed_,ds_,empty_unused_memory_level,"
    "enable_experimental,enable_ft_,end_weight_decay,eod_mask_loss,error_injection_,eval_,exit_,"
    "expert_interval,extra_vocab_size,fim_,finetune,fp8_amax_,fp8_interval,fp8_margin,fp8_wgrad,fsdp_,"
    "ft_,fused_,goldfish_,grad_reduce_,head_lr_mult,hf_,hidden_dropout,high_priority_,hysteresis,"
    "inference_,init_,initial_loss_scale,inprocess_,iteration_,keep_last,layernorm_,load,local_rank,"
    "log_,logging_level,loss_scale,loss_scale_window,lr,lr_,main_grads_dtype,manual_gc,manual_gc_,"
    "mask_,max_padding_length,max_tokens_to_oom,megatron_fsdp_,merge_file,min_,mlflow_,mmap_,mock_data,"
    "model_name,moe_aux_loss_coeff,moe_eval_capacity_factor,moe_input_jitter_eps,moe_loss_coeff,"
    "moe_min_capacity,moe_per_layer_logging,moe_permute_fusion,moe_router_,moe_token_drop_policy,"
    "moe_upcycling_,moe_use_,moe_z_loss_coeff,mscale,mscale_,mtp_loss_scaling_factor,muon_,nccl_,no_,"
    "non_persistent_,norm_epsilon,num_dataset_builder_threads,num_workers,one_logger_,onnx_safe,otel_,"
    "overlap_p2p_communication_warmup_flush,override_,pad_vocab_size_to,padded_vocab_size,patch_,per_,"
    "perform_initialization,phase_transition_,pin_,plot_,pp_partition_method,profile,profile_,"
    "qknorm_impl,query_in_block_prob,record_memory_history,replication,rerun_,reset_,result_,rl_,rope_,"
    "rotary_,run_,sample_,save,save_,seed,sft,sgd_,short_seq_prob,skip_,split,start_,straggler_,"
    "synchronize_,te_rng_tracker,tensorboard_,test_,tiktoken_,timing_,titles_,tokenizer_,train_,trust_,"
    "universal_checkpoint,use_checkpoint_,use_cpu_initialization,use_dist_ckpt,use_legacy_,"
    "use_mcore_models,use_nccl_ub,use_one_sent_docs,use_pin_memory,use_pytorch_profiler,"
    "use_ring_exchange_p2p,use_rope_scaling,use_sharp,use_te,use_tp_pp_dp_mapping,valid_,"
    "vocab_extra_ids,vocab_file,wandb_,warmup,weight_decay,weight_decay_,world_size,xielu";

bool is_listed(std::string_view key, std::string_view names) {
  return std::ranges::any_of(split(names, ','), [&](std::string_view name) {
    return name == key || (name.ends_with('_') && key.starts_with(name));
  });
}

}  // namespace

ArgumentEffect effect_of_argument(std::string_view key) {
  if (is_listed(key, kChanges)) return ArgumentEffect::kChanges;
  return is_listed(key, kNone) || is_listed(key, kFlags) || is_listed(key, kValues)
             ? ArgumentEffect::kNone
             : ArgumentEffect::kNotKnown;
}

bool is_value_argument(std::string_view key) {
  return is_listed(key, kValues);
}

bool is_flag_argument(std::string_view key) {
  return is_listed(key, kFlags);
}

std::string similar_argument(std::string_view key) {
  std::vector<std::string_view> known;
  for (const std::string_view names : {kFlags, kValues, kChanges, kNone}) {
    for (const std::string_view name : split(names, ','))
      if (!name.ends_with('_')) known.push_back(name);
  }
  return did_you_mean(key, known);
}

}  // namespace goodput::launch
