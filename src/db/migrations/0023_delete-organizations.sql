ALTER TABLE "organizations" DROP CONSTRAINT "organizations_name_unique";--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "deleted_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "purge_at" timestamp with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "organizations_by_name" ON "organizations" USING btree ("name") WHERE "organizations"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "organizations_by_purge" ON "organizations" USING btree ("purge_at") WHERE "organizations"."purge_at" is not null;