CREATE TABLE "usage_daily" (
	"day" date NOT NULL,
	"organization_id" text NOT NULL,
	"key_id" text NOT NULL,
	"model" text NOT NULL,
	"endpoint" text NOT NULL,
	"requests" bigint NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"searches" bigint NOT NULL,
	"rerank_units" bigint NOT NULL,
	"cost_micros" bigint NOT NULL,
	CONSTRAINT "usage_daily_day_organization_id_key_id_model_endpoint_pk" PRIMARY KEY("day","organization_id","key_id","model","endpoint")
);
--> statement-breakpoint
CREATE TABLE "usage_rollups" (
	"day" date PRIMARY KEY NOT NULL
);
--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "searches" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "rerank_units" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "cost_micros" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "duration_ms" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "finish_reason" text;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "is_batch" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "usage_daily_by_organization" ON "usage_daily" USING btree ("organization_id","day");