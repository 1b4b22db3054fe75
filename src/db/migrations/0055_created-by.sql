ALTER TABLE "files" ADD COLUMN "created_by" text;--> statement-breakpoint
ALTER TABLE "conversations" ADD COLUMN "created_by" text;--> statement-breakpoint
ALTER TABLE "responses" ADD COLUMN "created_by" text;