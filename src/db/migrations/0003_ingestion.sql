CREATE TABLE "data_sources" (
	"id" text PRIMARY KEY NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"config" jsonb NOT NULL,
	"sealed_secrets" text,
	"status" text NOT NULL,
	"document_count" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"last_synced_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "chunks" (
	"id" text PRIMARY KEY NOT NULL,
	"document_id" text NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"position" integer NOT NULL,
	"text" text NOT NULL,
	"tokens" integer NOT NULL,
	"start_index" integer NOT NULL,
	"end_index" integer NOT NULL,
	"page" integer,
	"heading_path" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "documents" (
	"id" text PRIMARY KEY NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"data_source_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"item_key" text NOT NULL,
	"part" text NOT NULL,
	"fingerprint" text NOT NULL,
	"seen_by" text NOT NULL,
	"name" text NOT NULL,
	"source_type" text NOT NULL,
	"source_uri" text,
	"mime_type" text,
	"bytes" bigint NOT NULL,
	"content_hash" text,
	"chunk_count" integer NOT NULL,
	"status" text NOT NULL,
	"error" jsonb,
	"metadata" jsonb NOT NULL,
	"language" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ingestion_jobs" (
	"id" text PRIMARY KEY NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"data_source_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"key_id" text NOT NULL,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"documents_processed" integer DEFAULT 0 NOT NULL,
	"documents_failed" integer DEFAULT 0 NOT NULL,
	"chunks_created" integer DEFAULT 0 NOT NULL,
	"documents_scanned" integer DEFAULT 0 NOT NULL,
	"documents_new" integer DEFAULT 0 NOT NULL,
	"documents_modified" integer DEFAULT 0 NOT NULL,
	"documents_deleted" integer DEFAULT 0 NOT NULL,
	"documents_skipped" integer DEFAULT 0 NOT NULL,
	"error" jsonb,
	"created_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"completed_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "job_documents" (
	"job_id" text NOT NULL,
	"document_id" text NOT NULL,
	"document_name" text NOT NULL,
	"status" text NOT NULL,
	"chunks_created" integer NOT NULL,
	"error" jsonb,
	CONSTRAINT "job_documents_job_id_document_id_pk" PRIMARY KEY("job_id","document_id")
);
--> statement-breakpoint
ALTER TABLE "data_sources" ADD CONSTRAINT "data_sources_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chunks" ADD CONSTRAINT "chunks_document_id_documents_id_fk" FOREIGN KEY ("document_id") REFERENCES "public"."documents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "documents" ADD CONSTRAINT "documents_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "documents" ADD CONSTRAINT "documents_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ingestion_jobs" ADD CONSTRAINT "ingestion_jobs_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ingestion_jobs" ADD CONSTRAINT "ingestion_jobs_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job_documents" ADD CONSTRAINT "job_documents_job_id_ingestion_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."ingestion_jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "data_sources_by_knowledge_base" ON "data_sources" USING btree ("knowledge_base_id","id");--> statement-breakpoint
CREATE INDEX "chunks_by_document" ON "chunks" USING btree ("document_id","position");--> statement-breakpoint
CREATE INDEX "chunks_by_knowledge_base" ON "chunks" USING btree ("knowledge_base_id");--> statement-breakpoint
CREATE INDEX "documents_by_knowledge_base" ON "documents" USING btree ("knowledge_base_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "documents_by_item" ON "documents" USING btree ("data_source_id","item_key","part");--> statement-breakpoint
CREATE INDEX "ingestion_jobs_by_knowledge_base" ON "ingestion_jobs" USING btree ("knowledge_base_id","id");--> statement-breakpoint
CREATE INDEX "ingestion_jobs_by_data_source" ON "ingestion_jobs" USING btree ("data_source_id","id");