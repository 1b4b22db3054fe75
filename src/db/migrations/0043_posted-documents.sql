CREATE TABLE "posted_documents" (
	"data_source_id" text NOT NULL,
	"key" text NOT NULL,
	"name" text NOT NULL,
	"text" text,
	"format" text NOT NULL,
	"file_id" text,
	"metadata" jsonb NOT NULL,
	"expires_at" timestamp with time zone,
	"fingerprint" text NOT NULL,
	CONSTRAINT "posted_documents_data_source_id_key_pk" PRIMARY KEY("data_source_id","key")
);
--> statement-breakpoint
ALTER TABLE "documents" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "posted_documents" ADD CONSTRAINT "posted_documents_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "documents_by_expiry" ON "documents" USING btree ("expires_at") WHERE "documents"."expires_at" is not null;