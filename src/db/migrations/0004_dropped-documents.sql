CREATE TABLE "dropped_documents" (
	"document_id" text PRIMARY KEY NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "dropped_documents" ADD CONSTRAINT "dropped_documents_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "dropped_documents_by_knowledge_base" ON "dropped_documents" USING btree ("knowledge_base_id");