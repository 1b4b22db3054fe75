CREATE TABLE "credit_leases" (
	"account" text NOT NULL,
	"process_id" text NOT NULL,
	"amount_micros" bigint NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "credit_leases_account_process_id_pk" PRIMARY KEY("account","process_id")
);
--> statement-breakpoint
CREATE TABLE "credit_transactions" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"amount_micros" bigint NOT NULL,
	"kind" text NOT NULL,
	"actor" text NOT NULL,
	"note" text,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "key_spend" (
	"key_id" text NOT NULL,
	"period" text NOT NULL,
	"spent_micros" bigint NOT NULL,
	CONSTRAINT "key_spend_key_id_period_pk" PRIMARY KEY("key_id","period")
);
--> statement-breakpoint
ALTER TABLE "usage_daily" ADD COLUMN "charged_micros" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "charged_micros" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "queue_ms" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "credit_transactions_by_organization" ON "credit_transactions" USING btree ("organization_id","id");