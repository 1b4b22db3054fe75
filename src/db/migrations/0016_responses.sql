CREATE TABLE "response_events" (
	"response_id" text NOT NULL,
	"first" integer NOT NULL,
	"last" integer NOT NULL,
	"events" text NOT NULL,
	"progress" text NOT NULL,
	CONSTRAINT "response_events_response_id_first_pk" PRIMARY KEY("response_id","first")
);
--> statement-breakpoint
CREATE TABLE "responses" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"status" text NOT NULL,
	"response" text NOT NULL,
	"conversation" text NOT NULL,
	"item_ids" text[] NOT NULL,
	"job" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "response_events" ADD CONSTRAINT "response_events_response_id_responses_id_fk" FOREIGN KEY ("response_id") REFERENCES "public"."responses"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "responses_by_age" ON "responses" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "responses_by_item" ON "responses" USING gin ("item_ids");