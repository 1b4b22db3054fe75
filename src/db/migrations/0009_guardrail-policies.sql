CREATE TABLE "guardrail_policies" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"enabled" boolean NOT NULL,
	"block_on_flag" boolean NOT NULL,
	"thresholds" jsonb NOT NULL,
	"topic_deny_list" jsonb NOT NULL,
	"apply_to" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "guardrail_policies_by_organization" ON "guardrail_policies" USING btree ("organization_id","id");