ALTER TABLE "knowledge_bases" ADD COLUMN "index_state" text DEFAULT 'ready' NOT NULL;--> statement-breakpoint
ALTER TABLE "knowledge_bases" ADD COLUMN "index_version" integer DEFAULT 1 NOT NULL;