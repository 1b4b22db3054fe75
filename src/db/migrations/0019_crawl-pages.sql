CREATE TABLE "crawl_pages" (
	"data_source_id" text NOT NULL,
	"url" text NOT NULL,
	"job_id" text NOT NULL,
	"position" bigserial NOT NULL,
	"depth" integer NOT NULL,
	"redirects" integer NOT NULL,
	"state" text NOT NULL,
	"item_key" text,
	"fingerprint" text,
	"name" text,
	"media_type" text,
	"etag" text,
	"last_modified" text,
	"links" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"body" "bytea",
	"error" jsonb,
	CONSTRAINT "crawl_pages_data_source_id_url_pk" PRIMARY KEY("data_source_id","url")
);
--> statement-breakpoint
ALTER TABLE "ingestion_jobs" ADD COLUMN "documents_pending_deletion" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "data_sources" ADD COLUMN "error" jsonb;--> statement-breakpoint
ALTER TABLE "crawl_pages" ADD CONSTRAINT "crawl_pages_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "crawl_pages_by_state" ON "crawl_pages" USING btree ("data_source_id","job_id","state","depth","position");--> statement-breakpoint
CREATE INDEX "crawl_pages_by_item_key" ON "crawl_pages" USING btree ("data_source_id","item_key");--> statement-breakpoint
CREATE INDEX "crawl_pages_by_fingerprint" ON "crawl_pages" USING btree ("data_source_id","fingerprint");--> statement-breakpoint
CREATE INDEX "crawl_pages_with_body" ON "crawl_pages" USING btree ("data_source_id","position") WHERE "crawl_pages"."body" is not null;