CREATE TABLE "request_contents" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"key_id" text NOT NULL,
	"prompt" text,
	"answer" text NOT NULL,
	"is_truncated" boolean NOT NULL
) PARTITION BY RANGE ("id");
--> statement-breakpoint
CREATE TABLE "request_recordings" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"is_enabled" boolean NOT NULL,
	"retention_days" integer NOT NULL,
	"detectors" jsonb NOT NULL,
	"patterns" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "request_recordings" ADD CONSTRAINT "request_recordings_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "request_contents_by_organization" ON "request_contents" USING btree ("organization_id","id");