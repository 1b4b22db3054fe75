CREATE TABLE "chat_feedback" (
	"message_id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"rating" text NOT NULL,
	"comment" text,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "chat_shares" (
	"id" text PRIMARY KEY NOT NULL,
	"chat_id" text NOT NULL,
	"title" text NOT NULL,
	"message_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "chat_shares_chat_id_unique" UNIQUE("chat_id")
);
--> statement-breakpoint
ALTER TABLE "chat_settings" ADD COLUMN "has_model_titles" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "chats" ADD COLUMN "is_title_final" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_feedback" ADD CONSTRAINT "chat_feedback_message_id_chat_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."chat_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_shares" ADD CONSTRAINT "chat_shares_chat_id_chats_id_fk" FOREIGN KEY ("chat_id") REFERENCES "public"."chats"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_feedback_by_organization" ON "chat_feedback" USING btree ("organization_id","message_id");