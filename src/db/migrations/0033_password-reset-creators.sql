ALTER TABLE "password_resets" ADD COLUMN "created_by" text;--> statement-breakpoint
ALTER TABLE "password_resets" ADD COLUMN "organization_id" text;--> statement-breakpoint
ALTER TABLE "password_resets" ADD CONSTRAINT "password_resets_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;