CREATE TABLE "chat_settings" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"retention_days" integer
);
--> statement-breakpoint
ALTER TABLE "chat_settings" ADD CONSTRAINT "chat_settings_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;