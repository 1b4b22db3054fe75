ALTER TABLE "api_keys" ADD COLUMN "limits" jsonb;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "budget" jsonb;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "balance_micros" bigint;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "limits" jsonb;