CREATE TABLE "expired_items" (
	"data_source_id" text NOT NULL,
	"item_key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"seen_by" text NOT NULL,
	CONSTRAINT "expired_items_data_source_id_item_key_pk" PRIMARY KEY("data_source_id","item_key")
);
--> statement-breakpoint
ALTER TABLE "expired_items" ADD CONSTRAINT "expired_items_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;