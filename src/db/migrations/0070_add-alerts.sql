CREATE TABLE "alert_channels" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"addresses" text[] NOT NULL,
	"url" text,
	"sealed_secret" text,
	"has_instance_alerts" boolean NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "alert_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"channel_id" text NOT NULL,
	"event" text NOT NULL,
	"alert" jsonb NOT NULL,
	"status" text NOT NULL,
	"attempts" integer NOT NULL,
	"last_error" text,
	"created_at" timestamp with time zone NOT NULL,
	"attempted_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "alert_evaluators" (
	"role" text PRIMARY KEY NOT NULL,
	"process_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "alerts" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"name" text NOT NULL,
	"path" text NOT NULL,
	"details" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"acknowledged_at" timestamp with time zone,
	"acknowledged_by" text,
	"resolved_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "budgets" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"key_ids" text[],
	"amount_micros" bigint NOT NULL,
	"thresholds" integer[] NOT NULL,
	"is_enforced" boolean NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "alert_deliveries" ADD CONSTRAINT "alert_deliveries_channel_id_alert_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."alert_channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "alert_channels_by_organization" ON "alert_channels" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "alert_deliveries_by_channel" ON "alert_deliveries" USING btree ("channel_id","id");--> statement-breakpoint
CREATE INDEX "alert_deliveries_by_time" ON "alert_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_open" ON "alerts" USING btree ("organization_id","kind","subject") WHERE "alerts"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "alerts_by_organization" ON "alerts" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "alerts_by_resolution" ON "alerts" USING btree ("resolved_at") WHERE "alerts"."resolved_at" is not null;--> statement-breakpoint
CREATE INDEX "budgets_by_organization" ON "budgets" USING btree ("organization_id","id");