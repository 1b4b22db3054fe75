CREATE TABLE "model_files" (
	"sha256" text PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL,
	"stored_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "model_bindings" ADD COLUMN "model_sha256" text;