/**
 * The settings of every DuckDB that the tests know. Those that can change what a query says are tried with values other than their
 * default, as SQL. The others have the reason why no session needs to try them. A setting with no place here fails the test.
 */
const flags = (names: string): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, ['true', 'false']]))

/** What SQL means. */
export const MEANING: Readonly<Record<string, readonly string[]>> = {
  default_null_order: [`'NULLS FIRST'`, `'SQLite'`, `'Postgres'`],
  null_order: [`'NULLS FIRST'`],
  default_order: [`'DESC'`, `'ASC'`],
  default_collation: [`'NOCASE'`, `'NOACCENT.NOCASE'`, `'de'`],
  TimeZone: [`'America/New_York'`, `'Asia/Kathmandu'`, `'Pacific/Apia'`],
  Calendar: [`'hebrew'`, `'buddhist'`, `'islamic'`],
  lambda_syntax: [`'DISABLE_SINGLE_ARROW'`, `'ENABLE_SINGLE_ARROW'`],
  deprecated_using_key_syntax: [`'UNION_AS_UNION_ALL'`],
  preserve_identifier_case: ['false', `'lowercase'`, `'uppercase'`],
  regex_match_operator_semantics: [`'FULL'`],
  dialect_compatibility_mode: [`'SPARK'`],
  search_path: [`'_sync'`, `'_sync,main'`],
  schema: [`'_sync'`],
  show_behavior: [`'SETTING'`],
  table_function_identifier_conversion: [`'DISABLE'`],
  ...flags(`integer_division ieee_floating_point_ops error_on_division_by_zero old_implicit_casting disable_timestamptz_casts
    scalar_subquery_error_on_multiple_rows order_by_non_integer_literal preserve_insertion_order legacy_disable_null_type
    errors_as_json immediate_transaction_mode enable_view_dependencies enable_macro_dependencies
    binary_as_string enable_geoparquet_conversion ignore_unknown_crs variant_legacy_encoding python_enable_replacements
    python_scan_all_frames`),
}

/** How a query is run. */
const EXECUTION: Readonly<Record<string, readonly string[]>> = {
  threads: ['3'],
  worker_threads: ['3'],
  disabled_optimizers: [
    `'expression_rewriter,filter_pushdown,join_order,top_n,common_subexpressions,statistics_propagation'`,
  ],
  asof_loop_join_threshold: ['0', '1000000'],
  nested_loop_join_threshold: ['0', '1000000'],
  merge_join_threshold: ['0', '1000000'],
  approximate_join_order_threshold: ['1'],
  dynamic_or_filter_threshold: ['0'],
  index_scan_max_count: ['0'],
  index_scan_percentage: ['1'],
  late_materialization_max_rows: ['0'],
  ordered_aggregate_threshold: ['1'],
  perfect_ht_threshold: ['0'],
  pivot_filter_threshold: ['1'],
  pivot_limit: ['1'],
  ...flags(`delim_join_as_cte enable_caching_operators
    enable_fsst_vectors enable_optimizer prefer_range_joins scheduler_process_partial enable_object_cache
    enable_external_file_cache parquet_metadata_cache disable_parquet_prefetching prefetch_all_parquet_files cache_local_files`),
}

export const TRIED: Readonly<Record<string, readonly string[]>> = { ...MEANING, ...EXECUTION }

const named = (names: string) => names.trim().split(/\s+/)

/** Why no session tries a setting. */
export const NOT_TRIED: Readonly<Record<string, readonly string[]>> = {
  'it limits what a session may use, and a query beyond it fails': named(`max_memory memory_limit
    operator_memory_limit max_temp_directory_size max_execution_time max_expression_depth max_streaming_buffer_size
    streaming_buffer_size standard_vector_size catalog_error_max_schemas block_allocator_memory allocator_background_threads
    allocator_bulk_deallocation_flush_threshold allocator_flush_threshold async_threads external_threads pin_threads
    read_ahead_depth`),
  'it opens, forbids or finds files, networks and secrets': named(`access_mode enable_external_access
    disabled_filesystems allowed_configs allowed_directories allowed_paths lock_configuration file_search_path home_directory
    secret_directory default_secret_storage allow_persistent_secrets allow_unredacted_secrets temp_directory temp_file_encryption
    force_mbedtls_unsafe enable_http_metadata_cache http_client_pool_capacity http_proxy http_proxy_password http_proxy_username
    custom_user_agent duckdb_api user username password external_file_cache_local_max_block_size
    external_file_cache_remote_max_block_size external_file_cache_remote_min_block_size external_file_cache_request_sizing
    external_file_cache_spill validate_external_file_cache storage_block_prefetch parquet_prefetch_column_gap`),
  'it loads extensions, and what they change is theirs': named(`active_grammar_extensions current_dialect
    allow_parser_override_extension allow_community_extensions allow_extension_repositories allow_extensions_metadata_mismatch
    allow_unsigned_extensions autoinstall_extension_repository autoinstall_known_extensions autoload_known_extensions
    custom_extension_repository extension_directories extension_directory extension_repository_directory`),
  'it is about writing': named(`auto_checkpoint_skip_wal_threshold checkpoint_on_detach checkpoint_threshold
    current_transaction_invalidation_policy default_transaction_invalidation_policy default_block_size disable_database_invalidation
    disabled_compression_methods enable_optimistic_write experimental_metadata_reuse force_column_metadata_reuse force_compression
    force_bitpacking_mode force_variant_shredding fsync_mode geometry_minimum_shredding_size variant_minimum_shredding_size
    initial_column_segment_size json_geometry_format max_vacuum_tasks vacuum_rebuild_indexes partitioned_write_flush_threshold
    partitioned_write_max_open_files storage_compatibility_version wal_autocheckpoint wal_autocheckpoint_entries
    write_buffer_row_group_count write_buffer_row_group_memory_limit zstd_min_string_length debug_skip_checkpoint_on_commit
    debug_checkpoint_abort debug_checkpoint_scan_sleep_ms debug_checkpoint_sleep_ms debug_eviction_queue_sleep_micro_seconds
    debug_verify_blocks __delta_only_variant_encoding_enabled`),
  'it is for those who develop DuckDB: 1.5.6 crashes at an ASOF join with the first, and counts wrong with the others together':
    named(`debug_asof_iejoin debug_window_mode debug_verify_vector debug_physical_table_scan_execution_strategy
    debug_force_external debug_force_no_cross_product`),
  'it is about output, logs and profiles': named(`arrow_large_buffer_size arrow_lossless_conversion
    arrow_output_list_view arrow_output_version produce_arrow_string_view pandas_analyze_sample explain_output enable_profiling
    custom_profiling_settings profile_output profiling_coverage profiling_mode profiling_output profiling_renderer_settings
    tracked_metrics enable_progress_bar enable_progress_bar_print progress_bar_time enable_logging warnings_as_errors enabled_log_types
    disabled_log_types log_query_path logging_level logging_mode logging_storage redact_http_logs enable_http_logging
    http_logging_output`),
}
