CREATE TABLE "batch_lines" (
	"batch_id" text NOT NULL,
	"line" integer NOT NULL,
	"id" text NOT NULL,
	"custom_id" text NOT NULL,
	"start" bigint NOT NULL,
	"bytes" integer NOT NULL,
	"weight" bigint NOT NULL,
	"order_key" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"status_code" integer,
	"request_id" text,
	"body" text,
	"error" text,
	"unrecorded_usage" jsonb,
	CONSTRAINT "batch_lines_batch_id_line_pk" PRIMARY KEY("batch_id","line")
);
--> statement-breakpoint
CREATE TABLE "batches" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"caller" jsonb NOT NULL,
	"endpoint" text NOT NULL,
	"input_file_id" text NOT NULL,
	"status" text NOT NULL,
	"metadata" jsonb NOT NULL,
	"errors" jsonb,
	"output_file_id" text,
	"error_file_id" text,
	"total_lines" integer DEFAULT 0 NOT NULL,
	"completed_lines" integer DEFAULT 0 NOT NULL,
	"failed_lines" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"in_progress_at" timestamp with time zone,
	"finalizing_at" timestamp with time zone,
	"completed_at" timestamp with time zone,
	"failed_at" timestamp with time zone,
	"expired_at" timestamp with time zone,
	"cancelling_at" timestamp with time zone,
	"cancelled_at" timestamp with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX "batch_lines_by_custom_id" ON "batch_lines" USING btree ("batch_id","custom_id");--> statement-breakpoint
CREATE INDEX "batches_by_organization" ON "batches" USING btree ("organization_id","id");