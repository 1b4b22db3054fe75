CREATE TABLE "prompt_cache_counts" (
	"process_id" text PRIMARY KEY NOT NULL,
	"hits" bigint NOT NULL,
	"misses" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"evictions" bigint NOT NULL,
	"bytes" bigint,
	"entries" bigint NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"resets" integer NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
