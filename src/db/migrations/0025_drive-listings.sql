CREATE TABLE "drive_files" (
	"data_source_id" text NOT NULL,
	"file_id" text NOT NULL,
	"parent_id" text,
	"name" text NOT NULL,
	"mime_type" text NOT NULL,
	"md5_checksum" text,
	"modified_time" text NOT NULL,
	"web_view_link" text,
	"drive_id" text,
	"target_id" text,
	"target_mime_type" text,
	"is_listed" boolean NOT NULL,
	CONSTRAINT "drive_files_data_source_id_file_id_pk" PRIMARY KEY("data_source_id","file_id")
);
--> statement-breakpoint
CREATE TABLE "drive_listings" (
	"data_source_id" text PRIMARY KEY NOT NULL,
	"scope" text NOT NULL,
	"tokens" jsonb NOT NULL,
	"listed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "drive_files" ADD CONSTRAINT "drive_files_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "drive_listings" ADD CONSTRAINT "drive_listings_data_source_id_data_sources_id_fk" FOREIGN KEY ("data_source_id") REFERENCES "public"."data_sources"("id") ON DELETE cascade ON UPDATE no action;