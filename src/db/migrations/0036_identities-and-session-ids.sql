ALTER TABLE "sessions" ADD COLUMN "id" text DEFAULT 'sess_00' || left(replace(gen_random_uuid()::text, '-', ''), 24) NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "user_agent" text;--> statement-breakpoint
ALTER TABLE "user_identities" ADD COLUMN "id" text DEFAULT 'ident_00' || left(replace(gen_random_uuid()::text, '-', ''), 24) NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_id_unique" UNIQUE("id");--> statement-breakpoint
ALTER TABLE "user_identities" ADD CONSTRAINT "user_identities_id_unique" UNIQUE("id");