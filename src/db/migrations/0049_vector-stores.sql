CREATE TABLE "vector_store_file_batch_files" (
	"batch_id" text NOT NULL,
	"file_id" text NOT NULL,
	CONSTRAINT "vector_store_file_batch_files_batch_id_file_id_pk" PRIMARY KEY("batch_id","file_id")
);
--> statement-breakpoint
CREATE TABLE "vector_store_file_batches" (
	"id" text PRIMARY KEY NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"cancelled_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "posted_documents" ADD COLUMN "chunk_size" jsonb;--> statement-breakpoint
ALTER TABLE "posted_documents" ADD COLUMN "is_cancelled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "knowledge_bases" ADD COLUMN "expires_after_days" integer;--> statement-breakpoint
ALTER TABLE "knowledge_bases" ADD COLUMN "last_active_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "vector_store_file_batch_files" ADD CONSTRAINT "vector_store_file_batch_files_batch_id_vector_store_file_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."vector_store_file_batches"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vector_store_file_batches" ADD CONSTRAINT "vector_store_file_batches_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "vector_store_file_batches_by_knowledge_base" ON "vector_store_file_batches" USING btree ("knowledge_base_id");