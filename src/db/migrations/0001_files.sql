CREATE TABLE "file_uses" (
	"file_id" text NOT NULL,
	"user_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "file_uses_file_id_user_id_pk" PRIMARY KEY("file_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "files" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"filename" text NOT NULL,
	"purpose" text NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"blob_key" text NOT NULL,
	"status" text NOT NULL,
	"status_details" text,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "loose_blobs" (
	"blob_key" text PRIMARY KEY NOT NULL,
	"is_dropped" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "file_uses" ADD CONSTRAINT "file_uses_file_id_files_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."files"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "file_uses_by_user" ON "file_uses" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "files_by_organization" ON "files" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "files_by_purpose" ON "files" USING btree ("organization_id","purpose","id");--> statement-breakpoint
CREATE INDEX "loose_blobs_by_age" ON "loose_blobs" USING btree ("created_at");