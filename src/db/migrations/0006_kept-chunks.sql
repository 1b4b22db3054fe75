ALTER TABLE "documents" ADD COLUMN "extraction_hash" text;--> statement-breakpoint
ALTER TABLE "documents" ADD COLUMN "own_metadata" jsonb;