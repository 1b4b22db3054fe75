CREATE TABLE "filter_keys" (
	"knowledge_base_id" text NOT NULL,
	"key" text NOT NULL,
	CONSTRAINT "filter_keys_knowledge_base_id_key_pk" PRIMARY KEY("knowledge_base_id","key")
);
--> statement-breakpoint
ALTER TABLE "documents" ADD COLUMN "unfilterable_keys" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "documents" ADD COLUMN "embedding_fingerprint" text;--> statement-breakpoint
UPDATE "documents" SET "embedding_fingerprint" = (SELECT "embedding_fingerprint" FROM "knowledge_bases" WHERE "id" = "documents"."knowledge_base_id") WHERE "chunk_count" > 0;--> statement-breakpoint
ALTER TABLE "ingestion_jobs" ADD COLUMN "kind" text DEFAULT 'sync' NOT NULL;--> statement-breakpoint
ALTER TABLE "filter_keys" ADD CONSTRAINT "filter_keys_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;