CREATE TABLE "request_log" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"key_id" text NOT NULL,
	"route" text NOT NULL,
	"model" text,
	"status" smallint NOT NULL,
	"error_code" text,
	"error_message" text,
	"model_calls" smallint NOT NULL,
	"prompt_tokens" integer NOT NULL,
	"cached_tokens" integer NOT NULL,
	"completion_tokens" integer NOT NULL,
	"cost_micros" bigint NOT NULL,
	"duration_ms" integer NOT NULL,
	"queue_ms" integer NOT NULL,
	"first_token_ms" integer,
	"is_cache_hit" boolean,
	"guardrail" text,
	"is_batch" boolean NOT NULL,
	"trace_id" text,
	"steps" jsonb
) PARTITION BY RANGE ("id");
--> statement-breakpoint
CREATE INDEX "request_log_by_organization" ON "request_log" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "request_log_by_key" ON "request_log" USING btree ("key_id","id");--> statement-breakpoint
CREATE INDEX "request_log_errors" ON "request_log" USING btree ("organization_id","id") WHERE "request_log"."status" >= 400;