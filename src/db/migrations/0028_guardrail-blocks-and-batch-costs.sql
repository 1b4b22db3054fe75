CREATE TABLE "guardrail_blocks" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"policy_id" text NOT NULL,
	"key_id" text NOT NULL,
	"request_id" text NOT NULL,
	"endpoint" text NOT NULL,
	"model" text NOT NULL,
	"stage" text NOT NULL,
	"reasons" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "batches" ADD COLUMN "cost_micros" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "guardrail_blocks_by_organization" ON "guardrail_blocks" USING btree ("organization_id","id");