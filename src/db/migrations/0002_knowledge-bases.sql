CREATE TABLE "dropped_indexes" (
	"knowledge_base_id" text PRIMARY KEY NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "knowledge_bases" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"embedding_model" text NOT NULL,
	"embedding_fingerprint" text,
	"chunking_type" text NOT NULL,
	"chunk_size_tokens" integer NOT NULL,
	"chunk_overlap_tokens" integer NOT NULL,
	"document_count" integer NOT NULL,
	"chunk_count" integer NOT NULL,
	"status" text NOT NULL,
	"metadata" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "knowledge_bases_by_organization" ON "knowledge_bases" USING btree ("organization_id","id");