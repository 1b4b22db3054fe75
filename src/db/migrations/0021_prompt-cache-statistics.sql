CREATE TABLE "prompt_cache_baseline" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"counts" jsonb NOT NULL,
	"since" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "prompt_cache_usage" (
	"process_id" text NOT NULL,
	"model" text NOT NULL,
	"bytes" bigint,
	"entries" bigint NOT NULL,
	"evictions" bigint NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "prompt_cache_usage_process_id_model_pk" PRIMARY KEY("process_id","model")
);
--> statement-breakpoint
ALTER TABLE "usage_daily" ADD COLUMN "cache_hits" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_daily" ADD COLUMN "cache_misses" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "is_cache_hit" boolean;