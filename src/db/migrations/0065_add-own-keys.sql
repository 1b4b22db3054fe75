CREATE TABLE "key_policies" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"max_keys" integer NOT NULL,
	"max_lifetime_seconds" integer,
	"models" text[],
	"knowledge_base_ids" text[],
	"limits" jsonb,
	"budget" jsonb
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "owner_id" text;--> statement-breakpoint
ALTER TABLE "key_policies" ADD CONSTRAINT "key_policies_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;