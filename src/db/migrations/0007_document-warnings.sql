ALTER TABLE "documents" ADD COLUMN "warnings" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "job_documents" ADD COLUMN "warnings" jsonb DEFAULT '[]'::jsonb NOT NULL;